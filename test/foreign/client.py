"""A client of the public Python SDK. Each line of standard input is a call, `[name, argument]`, and is answered with a line."""
import asyncio
import json
import os
import sys

import aiohttp
import runpod

runpod.api_key = os.environ["RUNPOD_API_KEY"]
endpoint = runpod.Endpoint("farm")
jobs = {}


def job(number):
    return jobs[number]


def run(body):
    jobs[len(jobs)] = endpoint.run(body)
    return job(len(jobs) - 1).job_id


def asynchronous(given):
    async def work():
        async with aiohttp.ClientSession() as session:
            asked = await runpod.AsyncioEndpoint("farm", session).run(given)
            output = await asked.output(timeout=60)
            return [await asked.status(), output]

    return asyncio.run(work())


calls = {
    "run": run,
    "asynchronous": asynchronous,
    "run_sync": lambda body: endpoint.run_sync(body, timeout=60),
    "status": lambda number: job(number).status(),
    "output": lambda number: job(number).output(timeout=60),
    "stream": lambda number: list(job(number).stream()),
    "cancel": lambda number: job(number).cancel(),
    "health": lambda _: endpoint.health(),
    "purge_queue": lambda _: endpoint.purge_queue(),
}

for line in sys.stdin:
    name, argument = json.loads(line)
    try:
        print(json.dumps(calls[name](argument)), flush=True)
    except Exception as error:  # the test looks at its name
        print(json.dumps({"raised": type(error).__name__, "text": str(error)}), flush=True)
