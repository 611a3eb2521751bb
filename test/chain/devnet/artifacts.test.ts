import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import * as z from 'zod'
import { COUNTER, LOAN_STORAGE } from '../../../indexer/sources/evm/proof/loan-storage.ts'
import { artifactFile, artifactText, compileContracts } from '../../../devnet/contracts/compile.ts'

/** The committed artifacts are what the compiler makes of the committed sources, byte for byte. */
void t.test('committed artifacts', (t) => {
  const artifacts = compileContracts()
  const committed = readdirSync(new URL('.', artifactFile('any'))).sort()
  t.same(committed, artifacts.map(({ contractName }) => `${contractName}.json`).sort())
  for (const artifact of artifacts)
    t.equal(
      readFileSync(artifactFile(artifact.contractName), 'utf8'),
      artifactText(artifact),
      artifact.contractName,
    )
  t.end()
})

const variable = z.object({ label: z.string(), slot: z.coerce.number(), offset: z.int(), type: z.string() })
const layoutSchema = z.object({
  storage: z.array(variable),
  types: z.record(z.string(), z.object({ members: z.array(variable).optional() })),
})

/** State proofs read the contracts' storage. */
void t.test('loans and counter are in storage where proofs look for them', (t) => {
  const compiled = new Map(compileContracts().map((one) => [one.contractName, one.storageLayout]))
  for (const [role, name] of [
    ['erc20Loans', 'ERC20Loans'],
    ['erc20CollateralLock', 'ERC20CollateralLock'],
  ] as const) {
    const { storage, types } = layoutSchema.parse(compiled.get(name))
    const slots = Object.fromEntries(storage.map(({ label, slot }) => [label, slot]))
    t.match(slots, { loans: 0, loanIdCounter: Number(COUNTER) })
    const members = Object.values(types).flatMap(({ members }) => members ?? [])
    t.same(
      LOAN_STORAGE[role].map((field) => [field.name, field.slot, field.offset]),
      members.map(({ label, slot, offset }) => [label, slot, offset]),
    )
  }
  t.end()
})
