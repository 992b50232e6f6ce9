"""Real storage servers on this machine, standing in for the clouds' services: for tests and for `make providers-demo`.

Each starter is a context manager that yields a `Service`: where it listens, what to trust, what to put in the
environment of an official SDK, and how many TCP connections the server itself accepted. A `Place` says where it
listens: on loopback, or in a network namespace behind the emulated path (`vmtrace.lab.services.delayed_path`).

| starter | server | speaks | terminates TLS |
|---|---|---|---|
| `swift.started` | OpenStack Swift | Swift (TempAuth), S3 (its s3api) | eventlet in Python |
| `moto.started` | moto behind gunicorn | S3, Glacier vaults, SQS, CloudWatch | gunicorn in Python |
| `azurite.started` | Azurite | Azure Blob | Node.js |
| `fault_proxy.started` | this package's | HTTP/1.1 in front of any of them | asyncio in Python |

A stand-in's bytes are never a cloud's: its certificate chain, its TLS library and its headers are its own.
"""
