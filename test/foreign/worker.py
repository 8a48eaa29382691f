"""A worker of the public Python SDK. HANDLER selects its kind of handler, and the input of a job says what that does."""
import asyncio
import os
import time

import runpod


def plain(job):
    given = job["input"]
    if "progress" in given:
        runpod.serverless.progress_update(job, given["progress"])
    while "until" in given and not os.path.exists(given["until"]):
        time.sleep(0.05)
    if "raise" in given:
        raise ValueError(given["raise"])
    if "known" in given:
        return {"webhook": job.get("webhook"), "s3Config": job.get("s3Config")}
    return given.get("return", {"echo": given})


async def asynchronous(job):
    await asyncio.sleep(0)
    return plain(job)


def generator(job):
    for number in range(job["input"]["count"]):
        yield {"number": number}


async def async_generator(job):
    for part in generator(job):
        yield part


handlers = {
    "plain": {"handler": plain},
    "async": {"handler": asynchronous},
    "concurrent": {"handler": asynchronous, "concurrency_modifier": lambda current: 3},
    "generator": {"handler": generator, "return_aggregate_stream": True},
    "async generator": {"handler": async_generator, "return_aggregate_stream": True},
}

runpod.serverless.start(handlers[os.environ["HANDLER"]])
