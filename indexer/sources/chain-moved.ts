import { RetryableError } from '../../shared/errors.ts'

/** The chain changed between two questions: nothing is wrong, ask again. */
export class ChainMoved extends RetryableError {
  override name = 'ChainMoved'
}
