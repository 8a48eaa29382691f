/** Captures the output of a command that runs in this process, so that it never reaches the terminal. */

export async function captureOutput<Result>(
  work: () => Promise<Result>,
): Promise<{ result: Result; output: string }> {
  const streams = [process.stdout, process.stderr].map((stream) => ({
    stream,
    write: stream.write.bind(stream),
  }));
  let output = '';
  const keep = (chunk: string | Uint8Array): boolean => {
    output += String(chunk);
    return true;
  };
  for (const { stream } of streams) stream.write = keep;
  try {
    return { result: await work(), output };
  } finally {
    for (const { stream, write } of streams) stream.write = write;
  }
}
