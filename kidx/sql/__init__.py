"""SQL over logs and indexes: DuckDB in this process, or Spark. The tables are the kinds of kidx.pipeline.schemas."""
