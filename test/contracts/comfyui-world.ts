/** ComfyUI as the service contract needs it. */
import { onTestFinished } from 'vitest';
import { ByteSemaphore } from '../../src/lib/limits/byte-semaphore.ts';
import type { Workflow } from '../../src/protocol/comfyui-workflow.ts';
import { ComfyuiDialect } from '../../src/runner/client/comfyui-dialect.ts';
import { HttpService } from '../../src/runner/client/http-service.ts';
import type { Dialect } from './render-service.contract.ts';

/** Each scene is a colour, 0 to 0xffffff. */
export function comfyuiDialect(colour: number): Dialect {
  return {
    input: { workflow: sha256, set: { '1.color': colour } },
    scene: colour,
    words: {
      waiting: 'pending',
      running: 'running',
      completed: 'success',
      failed: 'error',
      cancelled: 'interrupted',
    },
    delay: {},
    knownMs: 24 * 3_600_000,
    isLookedFor: true,
  };
}

/** Ends with the test. */
export function comfyuiService(url: string, workflow: Workflow): HttpService {
  const service = new HttpService({
    dialect: new ComfyuiDialect({ workflow, workflowSha256: sha256, node: undefined }),
    connectionOf: () => ({ url, apiKey: '' }),
    requestTimeoutMs: 30_000,
    maxBodyBytes: 64_000_000,
    memory: new ByteSemaphore(128_000_000),
  });
  onTestFinished(() => service.close());
  return service;
}

const sha256 = 'a'.repeat(64);
