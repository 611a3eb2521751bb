import { PermanentError } from '../errors.ts'

/** Bytes or text of Filecoin that are not what they should be. The reason is short, plain and names the field. */
export class DecodeError extends PermanentError {
  override name = 'DecodeError'
}
