import { createRequire } from 'node:module'

const architectures: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/**
 * Path of the executable inside the platform's npm package. The package's own launcher is a Node process around it,
 * which leaves the executable running when the launcher is killed.
 */
export function anvilBinary(): string {
  const name = `@foundry-rs/anvil-${process.platform}-${architectures[process.arch] ?? process.arch}`
  const launcher = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  try {
    return createRequire(launcher).resolve(`${name}/bin/anvil`)
  } catch {
    throw new Error(`no anvil for this platform: the npm package ${name} is not installed`)
  }
}
