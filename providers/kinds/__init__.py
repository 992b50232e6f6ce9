"""What a campaign does with a service, one file for each kind of plan; `kind` has their contract.

benchmark      workloads up and down again, a capture for each transaction
sampling       probes, availability, locations: objects at due times, one continuous capture
surge          threads that request without a pause, in steps
sweep          multipart uploads over connections, part sizes and sources; merges of parts
"""
