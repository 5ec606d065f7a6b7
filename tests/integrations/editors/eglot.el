;; The same as neovim.lua does, in Emacs with eglot.  -*- lexical-binding: t -*-

(require 'json)
(require 'subr-x)

(defconst xlalint-patience 60)

(defun xlalint-shown ()
  (mapcar (lambda (one)
            (let ((said (cdr (assoc 'eglot-lsp-diag (eglot--diag-data one)))))
              (list (plist-get said :code) (line-number-at-pos (flymake-diagnostic-beg one)) (plist-get said :source))))
          (sort (flymake-diagnostics)
                (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b))))))

(defun xlalint-await (condition)
  (let ((end (+ (float-time) xlalint-patience)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.05))))

(find-file (getenv "XLALINT_FILE"))
(run-hooks 'post-command-hook)          ; a command that is typed would do that: `eglot-ensure' waits for it
(xlalint-await #'xlalint-shown)
(let ((before (xlalint-shown)))
  (unless (string-empty-p (getenv "XLALINT_ACTION"))
    (goto-char (point-min))
    (forward-line (1- (or (nth 1 (car before)) 1)))
    (move-to-column 11)
    (dolist (action (eglot-code-actions (point) (point)))
      (when (string-search (getenv "XLALINT_ACTION") (plist-get action :title))
        (eglot--apply-workspace-edit (plist-get action :edit))))
    (eglot--signal-textDocument/didChange) ; batch mode has no idle time in which it would be sent
    (xlalint-await (lambda () (< (length (xlalint-shown)) (length before)))))
  (let ((out (list :before (vconcat (mapcar #'vconcat before))
                   :after (vconcat (mapcar #'vconcat (xlalint-shown)))
                   :text (vconcat (split-string (buffer-string) "\n")))))
    (with-temp-file (getenv "XLALINT_OUT")
      (insert (json-encode out)))))
(set-buffer-modified-p nil)
(kill-emacs 0)
