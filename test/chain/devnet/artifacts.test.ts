import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
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
