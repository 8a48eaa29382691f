/** Promise: a night on ComfyUI loses no scene and mixes up none, whichever side dies; `comfyui-itself.test.ts` tries a real one. */
import { it } from 'vitest';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { comfyuiNight } from './comfyui-night.ts';

it('a night through kills, restarts and lost answers', async () => {
  const comfy = await startComfyStandIn();
  await comfyuiNight({ url: comfy.url, restart: async () => comfy.restart() }, 40);
});
