import tseslint from 'typescript-eslint'

/** The type-aware part is the point: floating promises and `any` are what tests do not see. */
export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.data/', '.tap/', '.config/', 'devnet/contracts/out/', 'bench/peers/', 'client/generated/', 'client/dist/', 'docs/'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './api/page/tsconfig.json'], tsconfigRootDir: new URL('..', import.meta.url).pathname },
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only shared/config/config.ts reads the environment.' },
      ],
    },
  },
  { files: ['shared/config/**', 'test/**', 'devnet/**', 'bench/**'], rules: { 'no-restricted-properties': 'off' } },
  { files: ['test/**'], rules: { '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [{ from: 'package', package: '@tapjs/core', name: ['test', 'teardown'] }, { from: 'package', package: 'tap', name: ['test'] }] }] } },
)
