-- Opens the file that XLALINT_FILE names, waits for its diagnostics, applies the code action whose title holds XLALINT_ACTION, waits until
-- the diagnostics are others, and writes what it saw to XLALINT_OUT. Works with Neovim 0.7 and later.
local function seen(bufnr)
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(bufnr)) do
    table.insert(found, { code = one.code, line = one.lnum + 1, source = one.source })
  end
  table.sort(found, function(a, b) return a.line < b.line end)
  return found
end

vim.cmd('edit ' .. vim.env.XLALINT_FILE)
local bufnr = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({
  name = 'xlalint',
  cmd = vim.split(vim.env.XLALINT_SERVER, ' '),
  root_dir = vim.fn.fnamemodify(vim.env.XLALINT_FILE, ':h'),
})
vim.lsp.buf_attach_client(bufnr, client)
local out = {}
vim.wait(60000, function() return #seen(bufnr) > 0 end, 20)
out.before = seen(bufnr)

local first = out.before[1]
local place = { line = first and first.line - 1 or 0, character = 12 }
local params = {
  textDocument = vim.lsp.util.make_text_document_params(bufnr),
  range = { start = place, ['end'] = place },
  context = { diagnostics = {} },
}
local answers = vim.lsp.buf_request_sync(bufnr, 'textDocument/codeAction', params, 60000)
for _, answer in pairs(answers or {}) do
  for _, action in ipairs(answer.result or {}) do
    if string.find(action.title, vim.env.XLALINT_ACTION, 1, true) then
      vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
    end
  end
end
out.text = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
vim.wait(60000, function() return #seen(bufnr) ~= #out.before end, 20)
out.after = seen(bufnr)

local file = io.open(vim.env.XLALINT_OUT, 'w')
file:write(vim.fn.json_encode(out))
file:close()
vim.lsp.stop_client(client)
vim.wait(200)
vim.cmd('qall!')
