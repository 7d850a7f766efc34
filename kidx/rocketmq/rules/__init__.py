"""The rules of `kidx rocketmq verify`, one module per subject: each rule's texts, its condition and its findings.

KXR1xx: files and queue units; KXR2xx: the commit log; KXR3xx: the index; KXR4xx: checkpoint and abort. Codes are
stable. A rule's function names the subject it examines (kidx.rocketmq.registry); no list names the rules. Statements
about brokers are based on the source of RocketMQ 4.9.8 and 5.5.1, unless another version is named.
"""
