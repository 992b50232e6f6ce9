"""What a campaign shows while it runs.

view (the interface, what is known of a run)  <-  words (sentences)  <-  live, plain, json_lines  <-  choose
"""
