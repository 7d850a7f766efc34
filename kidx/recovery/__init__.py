"""A new log dir from what is left of damaged replicas.

`sources` finds the replicas of each partition, `sound_batches` reads the batches of one whose CRCs hold, `merge`
chooses among those of all, `plan` divides what was chosen into segments and reports what is missing, `partition_files`
and `log_dir` write what a broker expects. Sources are only read.
"""
