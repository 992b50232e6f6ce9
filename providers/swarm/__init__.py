"""Swarms: one file downloaded by BitTorrent from ordinary seeds and from an object store as web seed (BEP 19).

The study is Palankar and others, Amazon S3 for Science Grids, section 4.5. What is measured is in docs/swarm.md.
"""
