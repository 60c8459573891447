"""Simulated pictures beside real ones, and what networks make of other cameras."""
