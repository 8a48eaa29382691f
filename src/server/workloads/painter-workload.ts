/** The built-in rendering worker: paints what the scene says, without a GPU. */
import { paint, readPaintingRequest } from '../../painter/paint.ts';
import { inProcessWorkload } from './in-process-workload.ts';

/** Answers `[{ rendered_image, seed }]`; a request it cannot read fails the job with the reason. */
export const painterWorkload = inProcessWorkload('painter', async ({ input }) => {
  const request = readPaintingRequest(input);
  const picture = await paint(request);
  return [{ rendered_image: picture.toString('base64'), seed: request.seed }];
});
