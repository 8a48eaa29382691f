/** Runs a command within this process and captures its output. */
import { vi } from 'vitest';

/** Returns the exit code and the output. */
export async function heard(work: () => Promise<number>): Promise<{ code: number; said: string }> {
  const said: string[] = [];
  const hear = (text: unknown): boolean => said.push(String(text)) > 0;
  const ears = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(hear),
  );
  try {
    return { code: await work(), said: said.join('') };
  } finally {
    for (const ear of ears) ear.mockRestore();
  }
}
