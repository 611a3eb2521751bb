import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** Returns the path of a browser. Without one the test is skipped; with `CI=true` it fails. */
export function browserProgram(t: Test): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':')
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram)
  if (found === undefined) {
    if (process.env['CI'] === 'true') t.fail('chromium is not installed')
    else t.comment('skipped: chromium is not installed')
  }
  return found
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
