"""Ready guards for the agent frameworks of others: ``claude_agent_sdk``, ``openai_agents``, ``langchain``.

Each is a few lines over ``engine.client``, and needs the extra of its name. What is a call, a result and an agent there
is said in each; everything else is as in ``engine.guard``.
"""
