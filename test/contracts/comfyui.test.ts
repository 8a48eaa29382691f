/** Promise: the stand-in for ComfyUI answers like a real one. `test/e2e/comfyui-itself.test.ts` tests a real one. */
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { comfyuiContract } from './comfyui.contract.ts';

comfyuiContract('the stand-in', async () => (await startComfyStandIn()).url);
