"""The study's question of a run: is throughput unstable, what does it vary with, and with what not?

`spread` says how unstable, `candidates` puts beside each transfer what it could vary with (its packets, host counters,
CloudWatch), `association` and `effect` measure how the two go together, `findings` judges, `words` says it.
`intervals` asks the same of the intervals in which a factor limited.
"""
