"""Deciding: from scores to an answer that says how sure it is, and why not when it is not.

verdict  is this focus curve a peak? state, confidence, reasons
focus    one call: a stack in, a FocusResult out
"""
