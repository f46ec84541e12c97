// What go-sql-driver prints of the statements that all drivers run. Usage: main HOST PORT TLS FILE
package main

import (
	"context"
	"crypto/md5"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

func show(title string, value any) {
	text := fmt.Sprintf("%v", value)
	if len(text) > 2000 {
		text = fmt.Sprintf("%d %x", len(text), md5.Sum([]byte(text)))
	}
	if len(title) > 60 {
		title = title[:60]
	}
	fmt.Println(title, text)
}

func fetch(rows *sql.Rows) (all []string, err error) {
	for {
		types, _ := rows.ColumnTypes()
		for _, column := range types {
			all = append(all, column.Name()+":"+column.DatabaseTypeName())
		}
		for rows.Next() {
			cells := make([]any, len(types))
			for index := range cells {
				cells[index] = new(any)
			}
			if err := rows.Scan(cells...); err != nil {
				return all, err
			}
			for _, cell := range cells {
				all = append(all, fmt.Sprintf("%q", fmt.Sprint(*cell.(*any))))
			}
		}
		if !rows.NextResultSet() {
			return all, rows.Err()
		}
	}
}

type queryer interface {
	QueryContext(ctx context.Context, text string, values ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, text string, values ...any) (sql.Result, error)
}

func query(db queryer, text string, values ...any) {
	rows, err := db.QueryContext(context.Background(), text, values...)
	var all []string
	if err == nil {
		defer rows.Close()
		all, err = fetch(rows)
	}
	show(text, []any{all, err})
}

func execute(db queryer, text string, values ...any) {
	result, err := db.ExecContext(context.Background(), text, values...)
	if err != nil {
		show(text, err)
		return
	}
	changed, _ := result.RowsAffected()
	last, _ := result.LastInsertId()
	show(text, []any{changed, last})
}

func everything(db *sql.Conn, file string) {
	var name, version string
	_ = db.QueryRowContext(context.Background(), "SHOW SESSION STATUS LIKE 'Ssl_version'").Scan(&name, &version)
	fmt.Println("tls", version != "")
	execute(db, "DROP TABLE IF EXISTS types")
	execute(db, "CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, s VARCHAR(200) CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, e ENUM('a','b'))")
	bytes := make([]byte, 256)
	for index := range bytes {
		bytes[index] = byte(index)
	}
	row := []any{"12345678901234567890.0123456789", "2026-02-28 23:59:59.999999", `{"a": [1, null]}`, bytes, "dråpe 雨 🌧", -0.1, uint64(1<<64 - 1), "b"}
	insert := "INSERT INTO types (d, t, j, b, s, f, u, e) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
	execute(db, insert, row...)
	execute(db, insert, nil, nil, nil, nil, nil, nil, nil, nil)
	query(db, "SELECT * FROM types")
	query(db, "SELECT * FROM types WHERE id > ?", 0)
	query(db, "CALL report(5)")
	query(db, "CALL report(?)", 5)
	query(db, "SELECT 1; SELECT 2, 3; SELECT nothing")
	query(db, "SELECT REPEAT('x', 20000000)")
	query(db, "SELECT SHA2(?, 256), LENGTH(?)", strings.Repeat("y", 20000000), strings.Repeat("z", 17000000))
	for _, text := range []string{"SELEC", "SELECT * FROM nowhere", "SELECT NULL, '', 1.50"} {
		query(db, text)
	}
	execute(db, "INSERT INTO types (id) VALUES (1)")
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		show("begin", err)
		return
	}
	execute(tx, "DELETE FROM types")
	execute(tx, "LOAD DATA LOCAL INFILE '"+file+"' INTO TABLE copy FIELDS TERMINATED BY ','")
	query(tx, "SELECT COUNT(*), SUM(CRC32(words)) FROM copy")
	show("rollback", tx.Rollback())
	query(db, "SELECT COUNT(*) FROM types")
}

func together(db *sql.DB) {
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 25 {
				tx, err := db.Begin()
				if err == nil {
					_, err = tx.Exec("UPDATE counter SET n = n + ? WHERE id = 1", 1)
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					show("together", err)
					return
				}
			}
		}()
	}
	group.Wait()
}

func main() {
	host, port, tls, file := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	mysql.RegisterLocalFile(file)
	secure := map[bool]string{true: "skip-verify", false: "false"}[tls == "tls"]
	name := fmt.Sprintf("app:secret@tcp(%s:%s)/shop?multiStatements=true&maxAllowedPacket=67108864&tls=%s", host, port, secure)
	db, err := sql.Open("mysql", name)
	if err == nil {
		err = db.Ping()
	}
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	defer db.Close()
	connection, err := db.Conn(context.Background())
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	everything(connection, file)
	_ = connection.Close()
	together(db)
	query(db, "SELECT n FROM counter")
}
