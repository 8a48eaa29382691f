/** A folder of pictures in memory; the words "bad" in the bytes stand for a picture that does not pass. */
import { createHash } from 'node:crypto';
import type { CheckedPicture, HeldPicture, SavedPicture } from '../../src/core/picture.ts';
import { Trouble, type Failure } from '../../src/core/failure.ts';
import type { RecordedPicture, Verdict } from '../../src/core/verification.ts';
import type { ImageStore } from '../../src/pipeline/ports.ts';

export class FakeImages implements ImageStore {
  /** Contents by file name. */
  readonly files = new Map<string, string>();
  isDiskFull = false;

  async check(picture: HeldPicture): Promise<CheckedPicture | Failure> {
    const png = 'bytes' in picture ? Buffer.from(picture.bytes) : Buffer.from(picture.base64, 'base64');
    const sha256 = createHash('sha256').update(png).digest('hex');
    if (png.toString().includes('bad'))
      return { kind: 'bad-picture', text: 'the picture is cut', digest: sha256 };
    return { png, width: 8, height: 8, sha256 };
  }

  async write(picture: CheckedPicture, file: string): Promise<void> {
    if (this.isDiskFull) throw new Trouble({ kind: 'output-unwritable', text: 'the disk is full' });
    this.files.set(file, Buffer.from(picture.png).toString());
  }

  async has({ file, sha256 }: SavedPicture): Promise<boolean> {
    const content = this.files.get(file);
    return content !== undefined && createHash('sha256').update(content).digest('hex') === sha256;
  }

  async remove(file: string): Promise<void> {
    this.files.delete(file);
  }

  async move(from: string, to: string): Promise<void> {
    const content = this.files.get(from);
    if (content === undefined) return;
    // As on disk: of two equal files one goes, and another picture is never overwritten.
    const there = this.files.get(to) ?? content;
    if (there !== content) throw new Trouble({ kind: 'output-unwritable', text: `${to} is another file` });
    this.files.delete(from);
    this.files.set(to, content);
  }

  async inspect({ file, sha256 }: RecordedPicture): Promise<Verdict> {
    const content = this.files.get(file);
    if (content === undefined) return { kind: 'missing' };
    return createHash('sha256').update(content).digest('hex') === sha256
      ? { kind: 'good' }
      : { kind: 'damaged', problem: 'it is cut' };
  }

  async setAside({ file }: RecordedPicture, as: string): Promise<string | undefined> {
    const content = this.files.get(file);
    if (content === undefined) return undefined;
    this.files.set(`${file}.${as}`, content);
    this.files.delete(file);
    return `${file}.${as}`;
  }
}
