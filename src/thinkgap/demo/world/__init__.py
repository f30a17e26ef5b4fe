"""A procedural world of coloured handwritten digits: scenes, pictures, questions, and rows of data sets.

Data sets come from `thinkgap.demo.world.rows`. The world knows no item, no prompt and no model.
"""
