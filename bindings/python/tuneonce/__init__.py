"""tuneonce"""
