"""Every rule of `kidx verify` by its code, as kidx.checks.rules defines them.

KX1xx need an index alone, KX2xx an index and its log, KX3xx the log, KX4xx transactions, producers and leader epochs,
KX5xx the files next to a segment, KX6xx the replicas and groups of a fleet, KX7xx segments in a remote tier. Codes are
stable: the number of a removed rule is not used again.
"""

from __future__ import annotations

import kidx.checks.rules
from kidx.findings import Rule, rules_in

RULES: dict[str, Rule] = rules_in(kidx.checks.rules)
