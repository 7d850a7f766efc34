"""Every rule of `kidx rocketmq verify`, by code, as the modules of kidx.rocketmq.rules define them."""

from __future__ import annotations

from kidx.findings import rules_in
from kidx.rocketmq import rules

RULES = rules_in(rules)
