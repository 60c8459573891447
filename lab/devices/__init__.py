"""Devices without hardware: simulators of an INDI server, and pictures for the how-to pages."""
