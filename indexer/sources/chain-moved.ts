import { RetryableError } from '../../shared/errors.ts'

/** The chain changed between two requests. Nothing is wrong; the caller reads again. */
export class ChainMoved extends RetryableError {
  override name = 'ChainMoved'
}
