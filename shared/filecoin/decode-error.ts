import { PermanentError } from '../errors.ts'

/** Invalid bytes or text of Filecoin. The reason is short, plain and names the field. */
export class DecodeError extends PermanentError {
  override name = 'DecodeError'
}
