"""A capture with comments on its packets, for Wireshark: `vmtrace annotate`.

```text
remarks     what is to be said of which frame, of the file, and the names of addresses
pcapng      a capture copied as pcapng with these remarks; its packets are not changed by a byte
```
"""
