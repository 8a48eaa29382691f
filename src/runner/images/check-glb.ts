/** Checks a GLB (binary glTF 2): its header, its chunks, its JSON, and the buffer that this speaks of. */
import { isJsonObject } from '../../lib/text/json.ts';

const magic = 'glTF';
const headerBytes = 12;
const chunkHeaderBytes = 8;

export function checkGlb(glb: Buffer): { problem: string } | Record<string, never> {
  if (glb.toString('latin1', 0, 4) !== magic || glb.length < headerBytes)
    return { problem: 'it is no GLB: it does not begin with "glTF"' };
  const [version, length] = [glb.readUInt32LE(4), glb.readUInt32LE(8)];
  if (version !== 2) return { problem: `it is of version ${version} of glTF, and only 2 can be checked` };
  if (length !== glb.length)
    return {
      problem: `it is cut: it has ${glb.length.toLocaleString('en')} bytes, and its header says ${length.toLocaleString('en')}`,
    };
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = headerBytes; at < glb.length;) {
    const end = at + chunkHeaderBytes + (glb.length - at < chunkHeaderBytes ? 0 : glb.readUInt32LE(at));
    if (end > glb.length || end % 4 !== 0)
      return { problem: `it is damaged: its chunk at byte ${at} is torn` };
    chunks.push({
      type: glb.toString('latin1', at + 4, at + chunkHeaderBytes),
      data: glb.subarray(at + chunkHeaderBytes, end),
    });
    at = end;
  }
  const [first, second] = chunks;
  if (first?.type !== 'JSON') return { problem: 'it is damaged: its first chunk is not JSON' };
  return checkScene(first.data, second?.type === 'BIN\0' ? second.data.length : 0);
}

/** `binBytes`: of the chunk that the first buffer without an address is. */
function checkScene(json: Buffer, binBytes: number): { problem: string } | Record<string, never> {
  const scene = parseJson(json);
  if (scene instanceof Error || !isJsonObject(scene) || !isJsonObject(scene['asset']))
    return { problem: 'it is damaged: its JSON is none of glTF' };
  const { buffers } = scene;
  const buffer: unknown = Array.isArray(buffers) ? buffers[0] : undefined;
  if (!isJsonObject(buffer) || buffer['uri'] !== undefined) return {};
  const { byteLength } = buffer;
  if (typeof byteLength !== 'number') return { problem: 'it is damaged: its buffer has no length' };
  if (byteLength <= binBytes) return {};
  return {
    problem: `it is cut: its buffer has ${binBytes.toLocaleString('en')} bytes, and its JSON says ${byteLength.toLocaleString('en')}`,
  };
}

/** UTF-8 without a mark at its beginning, or what is wrong with it. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as unknown;
  } catch (error) {
    return error;
  }
}
