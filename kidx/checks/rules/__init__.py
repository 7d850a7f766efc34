"""The rules, one file a subject: each rule's texts, its condition, and the findings of what violates it."""
