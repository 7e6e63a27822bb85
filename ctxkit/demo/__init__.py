"""The demo: one recorded task through real SDKs, plain and wrapped, and both bills. No key, no network."""

from ctxkit.demo.play import run_demo
from ctxkit.demo.report import Comparison, DemoReport, Run

__all__ = ["Comparison", "DemoReport", "Run", "run_demo"]
