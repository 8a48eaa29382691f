/** A folder of pictures in memory. Contents with the word "bad" stand for pictures that fail the check. */
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import {
  detailsOf,
  type FileKind,
  type UncheckedPicture,
  type NamedFile,
  type Picture,
  type SavedPicture,
} from '../../src/runner/core/picture.ts';
import type { ExaminedPicture, Provenance } from '../../src/runner/core/provenance.ts';
import { FatalFailure, type Failure } from '../../src/runner/core/failure.ts';
import type { RecordedPicture, Verdict } from '../../src/runner/core/scene-record.ts';
import type { ImageStore, MissingPictures } from '../../src/runner/pipeline/ports.ts';

export class FakeImages implements ImageStore {
  /** Contents by file name. */
  readonly files = new Map<string, string>();
  /** Provenance inside pictures, by their contents. */
  readonly origins = new Map<string, Provenance>();
  isDiskFull = false;
  /** True if job ids are written into pictures and into sidecar files. */
  hasProvenance = false;
  /** Job ids by file name of the picture. */
  readonly sidecars = new Map<string, string>();

  readonly isNamedByAttempt = false;

  async check(picture: UncheckedPicture, provenance: Provenance): Promise<Picture | Failure> {
    const came = bytesOf(picture);
    if (came.toString().includes('bad') && picture.named !== undefined)
      return { kind: 'bad-file', text: `the file ${picture.named.label} is cut`, digest: sha256Of(came) };
    if (came.toString().includes('bad') && picture.isClip)
      return { kind: 'bad-clip', text: 'the clip is cut', digest: sha256Of(came) };
    const { isClip: _, ...told } = detailsOf(picture);
    if (picture.named !== undefined)
      return { ...told, content: came, width: 0, height: 0, sha256: sha256Of(came) };
    if (came.toString().includes('bad'))
      return { kind: 'bad-picture', text: 'the picture is cut', digest: sha256Of(came) };
    const { jobId } = provenance;
    const content = this.hasProvenance ? Buffer.from(`${came.toString()} by ${jobId}`) : came;
    this.origins.set(content.toString(), provenance);
    const beside = [{ ending: '.json', bytes: Buffer.from(jobId) }];
    const facts = { content, width: 8, height: 8, sha256: sha256Of(content) };
    return { ...told, ...facts, ...(this.hasProvenance && { beside }) };
  }

  async write(picture: Picture, file: string): Promise<void> {
    if (this.isDiskFull) throw new FatalFailure({ kind: 'output-unwritable', text: 'the disk is full' });
    const png = Buffer.from(picture.content).toString();
    if ((this.files.get(file) ?? png) !== png) await this.setAside(file, 'former');
    this.files.set(file, png);
    for (const { bytes } of picture.beside ?? []) this.sidecars.set(file, Buffer.from(bytes).toString());
  }

  async complete({ file }: SavedPicture, { jobId }: Provenance): Promise<void> {
    if (this.hasProvenance && !this.sidecars.has(file)) this.sidecars.set(file, jobId);
  }

  async keepRefused(clip: UncheckedPicture, name: string, as: 'damaged' | 'kept'): Promise<string> {
    const file = `${name}.${as}`;
    this.files.set(file, bytesOf(clip).toString());
    return file;
  }

  async has({ file, sha256 }: SavedPicture): Promise<boolean> {
    const content = this.files.get(file);
    return content !== undefined && sha256Of(content) === sha256;
  }

  async whichExist(names: string[]): Promise<string[]> {
    return names.filter((name) => this.files.has(name));
  }

  async list(kinds: readonly FileKind[] = ['png']): Promise<string[]> {
    const isOf = (file: string): boolean => kinds.some((kind) => file.endsWith(`.${kind}`));
    return [...this.files.keys()].filter(isOf).toSorted();
  }

  async examine(file: string, named?: NamedFile): Promise<ExaminedPicture | { problem: string }> {
    const content = this.files.get(file) ?? '';
    if (content.includes('bad')) return { problem: 'it is cut' };
    const picture = {
      file,
      width: 8,
      height: 8,
      bytes: Buffer.byteLength(content),
      sha256: sha256Of(content),
      ...(named && { label: named.label }),
    };
    const origin = this.origins.get(content);
    return { picture: { ...picture, ...(origin?.output && { output: origin.output }) }, origin };
  }

  async findMissing(pictures: Iterable<RecordedPicture>): Promise<MissingPictures> {
    const all = [...pictures];
    const isThere = (file: string | null, bytes: number): boolean =>
      Buffer.byteLength(this.files.get(file ?? '') ?? '') === bytes;
    const missing = all.filter(({ file, moveTo, bytes }) => !isThere(file, bytes) && !isThere(moveTo, bytes));
    return { checked: all.length, missing: missing.length, example: missing[0]?.file ?? '' };
  }

  async remove(file: string): Promise<void> {
    this.files.delete(file);
    this.sidecars.delete(file);
  }

  async move(from: string, to: string): Promise<boolean> {
    const content = this.files.get(from);
    if (content === undefined) return this.files.has(to);
    // As on disk: one of two equal files is removed, and a different picture is never overwritten.
    const there = this.files.get(to) ?? content;
    if (there !== content)
      throw new FatalFailure({ kind: 'output-unwritable', text: `${to} is another file` });
    this.files.delete(from);
    this.files.set(to, content);
    const sidecar = this.sidecars.get(from);
    if (sidecar !== undefined) this.sidecars.set(to, sidecar);
    this.sidecars.delete(from);
    return true;
  }

  async inspect({ file, sha256 }: RecordedPicture): Promise<Verdict> {
    const content = this.files.get(file);
    if (content === undefined) return { kind: 'missing' };
    return sha256Of(content) === sha256 ? { kind: 'good' } : { kind: 'damaged', problem: 'it is cut' };
  }

  async setAside(file: string, as: string): Promise<string | undefined> {
    const content = this.files.get(file);
    if (content === undefined) return undefined;
    let name = `${file}.${as}`;
    for (let count = 2; this.files.has(name); count++) name = `${file}.${as}-${count}`;
    this.files.set(name, content);
    this.files.delete(file);
    return name;
  }
}

function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function bytesOf(picture: UncheckedPicture): Buffer {
  if ('received' in picture) return readFileSync(picture.received.path);
  return 'bytes' in picture ? Buffer.from(picture.bytes) : Buffer.from(picture.base64, 'base64');
}
