"""The rows of `kidx rocketmq`: files as stored, look-ups, pulls, a store's figures, differences of replicas."""
