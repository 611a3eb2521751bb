import { ConfigError, messageOf } from '../../shared/errors.ts'

/** The message of the mistake in the configuration that `work` throws; `no mistake` if it throws none. */
export function mistake(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return messageOf(error)
    throw error
  }
  return 'no mistake'
}
