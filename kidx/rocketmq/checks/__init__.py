"""What `kidx rocketmq verify` knows: a module for each part of a store, put together by run.py."""
