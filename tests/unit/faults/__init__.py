"""Faults on purpose: who meets which, what then happens, and that nothing of them is left behind."""
