/** A command of the program within this process, with what it says. */
import { vi } from 'vitest';

/** The exit code and all that was said. */
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
