"""Surefoot as a LangGraph graph, and runnables of LangChain and LangGraph as tools of Surefoot (extra `langgraph`)."""

from surefoot.integrations.langgraph.graph import create_graph
from surefoot.integrations.langgraph.state import SurefootInput, SurefootOutput, SurefootState
from surefoot.integrations.langgraph.tools import as_tool

__all__ = ["SurefootInput", "SurefootOutput", "SurefootState", "as_tool", "create_graph"]
