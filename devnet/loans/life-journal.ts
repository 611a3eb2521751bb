import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Life } from '../evm/loan-life.ts'

/** Keeps open loans in a file, so that the next start resumes them. */
export interface LifeJournal {
  load(): Life[]
  /** Saves atomically, and only after a change. */
  save(lives: Life[]): void
}

export function lifeJournal(file: string): LifeJournal {
  let last = ''
  return {
    load() {
      if (!existsSync(file)) return []
      try {
        // Only this program writes the file; unreadable content is discarded.
        return JSON.parse(readFileSync(file, 'utf8'), revive) as Life[]
      } catch {
        return []
      }
    },
    save(lives) {
      const text = JSON.stringify(lives, keep)
      if (text === last) return
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
      last = text
    },
  }
}

function keep(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: value.toString() }
  return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('hex') } : value
}

function revive(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if ('bigint' in value && typeof value.bigint === 'string') return BigInt(value.bigint)
  if ('bytes' in value && typeof value.bytes === 'string')
    return new Uint8Array(Buffer.from(value.bytes, 'hex'))
  return value
}
