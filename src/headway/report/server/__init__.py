"""Runs in the browser while they train: a page of all, and the page of each, on this machine."""

from headway.report.server.serve import Server

__all__ = ["Server"]
