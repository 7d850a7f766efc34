"""The rules of `kidx rocketmq verify`, a module a subject: a rule's texts, its condition and what makes its findings.

KXR1xx: files and queue units; KXR2xx: the commit log; KXR3xx: the index; KXR4xx: checkpoint and abort. Codes are
stable. A rule's function names the subject it is asked of (kidx.rocketmq.registry); no list anywhere names the rules.
What is said of brokers was read from the store of RocketMQ 4.9.8 and 5.5.1, where no other version is named.
"""
