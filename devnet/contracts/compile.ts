import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import solc from 'solc'
import * as z from 'zod'

/** The committed part of a compiled contract: enough to deploy it, call it, and recognise it on a chain. */
export interface Artifact {
  contractName: string
  abi: unknown[]
  bytecode: string
  deployedBytecode: string
  /** The compiler's `storageLayout`; not kept in the artifact. */
  storageLayout: unknown
}

const here = new URL('.', import.meta.url)
const outputFolder = new URL('out/', here)

const code = z.object({ object: z.string() })
const compilerOutput = z.object({
  errors: z.array(z.object({ severity: z.string(), formattedMessage: z.string() })).default([]),
  contracts: z
    .record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          abi: z.array(z.unknown()),
          evm: z.object({ bytecode: code, deployedBytecode: code }),
          storageLayout: z.unknown(),
        }),
      ),
    )
    .default({}),
})

const deployed = new Set([
  'ERC20Loans',
  'ERC20CollateralLock',
  'LoanBatcher',
  'TestToken',
  'NoDecimalsToken',
  'AbsurdDecimalsToken',
  'Blake2bProbe',
])

/**
 * Compiles every .sol file beside this one. The bytecode carries no metadata hash, so it depends only on the code and
 * the compiler. Throws with the compiler's message on an error or a warning.
 */
export function compileContracts(): Artifact[] {
  const files = readdirSync(here).filter((name) => name.endsWith('.sol'))
  const sources = Object.fromEntries(
    files.map((name) => [name, { content: readFileSync(new URL(name, here), 'utf8') }]),
  )
  const settings = {
    evmVersion: 'shanghai',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: {
      '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object', 'storageLayout'] },
    },
  }
  const { errors, contracts } = compilerOutput.parse(
    JSON.parse(z.string().parse(askCompiler(JSON.stringify({ language: 'Solidity', sources, settings })))),
  )
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  return Object.values(contracts)
    .flatMap((byName) => Object.entries(byName))
    .filter(([contractName]) => deployed.has(contractName))
    .map(([contractName, { abi, evm, storageLayout }]) => ({
      contractName,
      abi,
      bytecode: `0x${evm.bytecode.object}`,
      deployedBytecode: `0x${evm.deployedBytecode.object}`,
      storageLayout,
    }))
}

/** The compiler package brings no usable types. */
const askCompiler: (input: string) => unknown = (input) => {
  const { compile } = solc as { compile: (input: string) => unknown }
  return compile(input)
}

export function artifactText({ storageLayout: _, ...artifact }: Artifact): string {
  return `${JSON.stringify(artifact, null, 2)}\n`
}

/** Returns the path of a committed artifact. */
export function artifactFile(contractName: string): URL {
  return new URL(`${contractName}.json`, outputFolder)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  mkdirSync(outputFolder, { recursive: true })
  for (const artifact of compileContracts()) {
    writeFileSync(artifactFile(artifact.contractName), artifactText(artifact))
    console.log(`${artifact.contractName}: ${artifact.deployedBytecode.length / 2 - 1} bytes`)
  }
}
