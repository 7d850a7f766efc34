"""What a broker does at its next start, foretold from its log dirs; nothing is written.

    predict(log_dirs, version)    the Prediction: refusal, log dirs that go offline, partitions, actions

Each file models one of Kafka's classes: `identity` MetaPropertiesEnsemble, `checkpoint_file` CheckpointFile,
`metadata_log` KafkaMetadataLog, `log_manager` LogManager, `log_loader` LogLoader, `log_segment` LogSegment,
`producer_state` ProducerStateManager. `behaviours` lists every behaviour with its source and the run that shows it,
`versions` the differences between brokers.
"""

from __future__ import annotations
