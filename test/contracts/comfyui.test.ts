/** The stand-in of ComfyUI answers as a real one was seen to; `test/e2e/comfyui-itself.test.ts` asks that. */
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { comfyuiContract } from './comfyui.contract.ts';

comfyuiContract('the stand-in', async () => (await startComfyStandIn()).url);
